// The login: shown instead of the page while the server asks for a token.

import { m } from "./lib.js";
import { login } from "./api.js";
import { Form, Field } from "./parts/form.js";

export default function Login() {
  let token = "";
  let error = null;
  let isBusy = false;
  const onsubmit = async () => {
    isBusy = true;
    error = null;
    try {
      await login(token.trim());
      token = "";
      requestAnimationFrame(() => document.getElementById("main")?.focus());
    } catch (problem) {
      error = problem.status === 401 ? { title: "Not accepted", detail: "The server does not know this token. Check it for missing characters." } : problem;
    }
    isBusy = false;
    m.redraw();
  };
  return {
    oncreate: ({ dom }) => dom.querySelector("input")?.focus(),
    view: () =>
      m(".login",
        m("h1", "Log in"),
        m("p", "This server needs a token. Only this tab keeps it, in memory: after a reload, enter it again."),
        m(Form, { onsubmit, error, isBusy, submit: "Log in" },
          m(Field, { label: "Token", name: "token", type: "password", value: token, oninput: (text) => (token = text), isRequired: true, autocomplete: "current-password" }))),
  };
}
