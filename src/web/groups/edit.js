// A dialog that makes or changes a group: its endpoints as JSON.

import { m } from "../lib.js";
import { ApiError, patch, path, put } from "../api.js";
import { changesOf } from "../changes.js";
import { Dialog } from "../parts/dialog.js";
import { Field, Form, faultOf } from "../parts/form.js";
import { Raw, parseRaw } from "../parts/raw.js";
import { toast } from "../parts/toast.js";

const EXAMPLE = { north: { url: "https://north.example/hook" }, south: { url: "https://south.example/hook", method: "PUT" } };

// attrs: group (a GroupState, or null for a new one), etag, onclose(hasChanged)
export function GroupDialog({ attrs: { group, etag, onclose } }) {
  let name = group?.group ?? "";
  let text = JSON.stringify(group?.endpoints ?? EXAMPLE, null, 2);
  let error = null;
  let fault = null;
  let isBusy = false;
  const onsubmit = async () => {
    const read = parseRaw(text);
    fault = read.error;
    if (fault) return;
    isBusy = true;
    error = null;
    try {
      const where = path`/groups/${name.trim()}`;
      if (group) await patch(where, { endpoints: changesOf(group.endpoints, read.value ?? {}) }, { ifMatch: etag });
      else await put(where, { endpoints: read.value ?? {} }, { headers: { "If-None-Match": "*" } });
      toast(`${name.trim()} is saved.`);
      onclose(true);
    } catch (problem) {
      error = problem.status === 412 ? new ApiError(412, { title: "Not saved", detail: group ? "The group has changed meanwhile. Close this and open it again." : "There is a group of this name already." }) : problem;
    }
    isBusy = false;
    m.redraw();
  };
  return {
    view: () =>
      m(Dialog, { title: group ? `Group ${group.group}` : "New group", onclose: () => onclose(false), isWide: true },
        m(Form, { onsubmit, error, isBusy, oncancel: () => onclose(false) },
          group ? null : m(Field, { label: "Name", value: name, isRequired: true, oninput: (typed) => (name = typed), help: "As a topic: letters, digits, . _ -" }),
          m(Raw, { label: "Endpoints", rows: 12, text, error: fault ?? faultOf(error, "endpoints"), oninput: (typed) => (text = typed), help: group ? "By name. *** stands for hidden values: what you leave so stays." : "By name: url, and if needed method and headers." }))),
  };
}
