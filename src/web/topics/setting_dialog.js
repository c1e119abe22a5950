// A dialog for one setting of a topic or a pattern: a new value, or no value of its own.

import { m } from "../lib.js";
import { ApiError, get, patch, path } from "../api.js";
import { changesOf, isPlain } from "../changes.js";
import { Dialog } from "../parts/dialog.js";
import { Field, Form, faultOf } from "../parts/form.js";
import { toast } from "../parts/toast.js";
import { textOf, valueOf } from "./settings.js";

// For these settings, the server merges the new object into the old one. For all others, it replaces the old object.
const MERGED = ["headers", "rate"];

// attrs: topic (or pattern), setting, value, from, onclose(hasChanged)
export function SettingDialog({ attrs: { topic, setting, value, from, onclose } }) {
  const own = from === "topic" ? value : undefined;
  let text = value === undefined && setting.kind === "bool" ? "true" : value === undefined ? setting.options?.at(-1) ?? "" : textOf(setting, value);
  let error = null;
  let fault = null;
  let isBusy = false;

  const send = async (change, notice) => {
    isBusy = true;
    error = null;
    try {
      await checkUnchanged(topic, setting.name, own);
      await patch(path`/topics/${topic}`, { [setting.name]: MERGED.includes(setting.name) && isPlain(own) && isPlain(change) ? changesOf(own, change) : change });
      toast(notice);
      onclose(true);
    } catch (problem) {
      error = problem;
    }
    isBusy = false;
    m.redraw();
  };
  const onsubmit = () => {
    const read = valueOf(setting, text);
    fault = read.error;
    if (!fault) send(read.value, `${setting.title} of ${topic} is saved.`);
  };

  return {
    view: ({ attrs: { from } }) =>
      m(Dialog, { title: `${setting.title} of ${topic}`, onclose: () => onclose(false) },
        m("p.sub", from === "topic" ? "It has a value of its own." : from && from !== "default" ? `Its value comes from ${from}.` : "It has the server's default."),
        m(Form, { onsubmit, error, isBusy, oncancel: () => onclose(false) },
          field(setting, text, fault ?? faultOf(error, setting.name), (typed) => (text = typed))),
        from === "topic"
          ? m("button.quiet", { type: "button", disabled: isBusy, onclick: () => send(null, `${setting.title} of ${topic} has no value of its own now.`) }, "Remove own value")
          : null),
  };
}

// The API has no ETag for topics. This check shortens the time in which another person's change could be overwritten.
async function checkUnchanged(topic, name, own) {
  const { body } = await get(path`/topics/${topic}`);
  const isOwn = body.from ? body.from[name] === "topic" : name in body.settings;
  if (JSON.stringify(isOwn ? body.settings[name] : undefined) === JSON.stringify(own)) return;
  throw new ApiError(412, { title: "Not saved", detail: "This setting has changed since you opened it. Close this dialog, check the value, and open it again." });
}

function field(setting, text, error, oninput) {
  const common = { label: setting.title, help: setting.help, error, oninput };
  if (setting.kind === "bool") return m(Field, { ...common, type: "select", value: text, options: [{ value: "true", text: "yes" }, { value: "false", text: "no" }] });
  if (setting.kind === "choice") return m(Field, { ...common, type: "select", value: text, options: setting.options });
  if (setting.kind === "json") return m(Field, { ...common, type: "textarea", rows: 6, isCode: true, value: text });
  return m(Field, { ...common, value: text });
}
