// A dialog that creates or changes a group, with a row of fields for each endpoint.

import { m } from "../lib.js";
import { ApiError, patch, path, put } from "../api.js";
import { METHODS } from "../jobs/draft.js";
import { Dialog } from "../parts/dialog.js";
import { Field, Form } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { toast } from "../parts/toast.js";
import { draftOf, endpointsOf, faultsOf, hasHidden, newEndpoint, patchOf } from "./draft.js";

// attrs: group (a GroupState, or null for a new one), etag, onclose(hasChanged)
export function GroupDialog({ attrs: { group, etag, onclose } }) {
  const state = { name: group?.group ?? "", endpoints: group ? draftOf(group) : [newEndpoint()], error: null, isBusy: false };
  const send = () => {
    const where = path`/groups/${state.name.trim()}`;
    if (group) return patch(where, { endpoints: patchOf(state.endpoints, group) }, { ifMatch: etag });
    return put(where, { endpoints: endpointsOf(state.endpoints) }, { headers: { "If-None-Match": "*" } });
  };
  const onsubmit = async () => {
    const errors = faultsOf(state.endpoints);
    state.error = errors.length ? { title: "Not sent", detail: "Some fields are not right.", errors } : null;
    if (state.error) return;
    state.isBusy = true;
    try {
      await send();
      toast(`${state.name.trim()} is saved.`);
      onclose(true);
    } catch (problem) {
      state.error = problem.status === 412 ? new ApiError(412, { title: "Not saved", detail: group ? "The group has changed since you opened it. Close this dialog and open it again." : "A group with this name exists already." }) : problem;
    }
    state.isBusy = false;
    m.redraw();
  };
  return {
    view: () =>
      m(Dialog, { title: group ? `Group ${group.group}` : "New group", onclose: () => onclose(false), isWide: true },
        m(Form, { onsubmit, error: state.error, isBusy: state.isBusy, oncancel: () => onclose(false) },
          group ? null : m(Field, { label: "Group", value: state.name, isRequired: true, oninput: (text) => (state.name = text), help: "Letters, digits, . _ -, as in the name of a topic." }),
          m(".endpoints", state.endpoints.map((one, i) => endpoint(state.endpoints, one, i))),
          m("div", m("button", { type: "button", onclick: () => state.endpoints.push(newEndpoint()) }, "Add an endpoint")),
          state.endpoints.some(hasHidden) ? m("p.sub", "*** stands for a hidden value. Leave *** to keep the value.") : null)),
  };
}

function endpoint(endpoints, one, i) {
  const change = (name) => (text) => (one[name] = text);
  const name = one.name || `endpoint ${i + 1}`;
  return m(".endpoint", { key: one.key, role: "group", "aria-label": name },
    m(Field, { label: "Name", value: one.name, isRequired: true, placeholder: "north", oninput: change("name") }),
    m(Field, { label: "Method", type: "select", options: METHODS, value: one.method, oninput: change("method") }),
    m(Field, { label: "URL", value: one.url, isRequired: true, isCode: true, placeholder: "https://north.example/hook", oninput: change("url") }),
    m("button.quiet", { type: "button", "aria-label": `Remove ${name}`, title: endpoints.length < 2 ? "A group has at least one endpoint" : undefined, disabled: endpoints.length < 2, onclick: () => endpoints.splice(i, 1) }, m(Icon, { name: "close" })),
    m(".endpoint-headers", m(Field, { label: "Headers, one per line", type: "textarea", rows: Math.max(1, one.headers.split("\n").length), isCode: true, value: one.headers, placeholder: "Authorization: Bearer …", oninput: change("headers") })));
}
