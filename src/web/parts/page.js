// Page: m(Page, {title, sub, actions}, children). The heading that each page begins with. actions are buttons.
// Card: m(Card, {title, sub, actions, class}, children). A box with a heading.
// Button: m(Button, {onclick, whyNot, kind: "primary" | "danger" | "quiet", icon}, "Pause"). With whyNot, a reason, it
//   is disabled and shows the reason (see whyNot() of api.js).

import { m } from "../lib.js";
import { Icon } from "./icon.js";

export const Page = {
  view: ({ attrs: { title, sub, actions }, children }) => [
    m("header.page-head", m(".page-title", m("h1", title), sub ? m(".sub", sub) : null), actions ? m(".actions", actions) : null),
    children,
  ],
};

export const Card = {
  view: ({ attrs: { title, sub, actions, class: name = "" }, children }) =>
    m("section.card", { class: name, "aria-label": title },
      title || actions ? m("header.card-head", m("h2", title), sub ? m("span.sub", sub) : null, actions ? m(".actions", actions) : null) : null,
      children),
};

export const Button = {
  view: ({ attrs: { onclick, whyNot, kind = "", icon, title, isDisabled, label, pressed }, children }) =>
    m("button", {
      type: "button", class: kind, onclick: whyNot ? undefined : onclick, title: whyNot ?? title, "aria-label": label,
      "aria-pressed": pressed === undefined ? undefined : String(pressed),
      "aria-disabled": whyNot ? "true" : undefined, disabled: isDisabled || undefined,
    }, icon ? m(Icon, { name: icon }) : null, children),
};
