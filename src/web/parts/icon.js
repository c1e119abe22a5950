// Icon: m(Icon, {name: "jobs"}). Drawn with the colour of the text; hidden from screen readers, so put a word next to it.

import { m } from "../lib.js";

const PATHS = {
  overview: "M3 12h4l3-8 4 16 3-8h4",
  topics: "M4 6h16M4 12h16M4 18h10",
  jobs: "M4 5h16v5H4zM4 14h16v5H4z",
  dead: "M5 5l14 14M19 5L5 19",
  schedules: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  groups: "M12 4v5M12 9L5 15M12 9l7 6M3 15h4v4H3zM17 15h4v4h-4zM10 2h4v3h-4z",
  workflows: "M4 5h5v5H4zM15 14h5v5h-5zM9 7.500h4v9h2",
  receivers: "M4 12h10M10 7l5 5-5 5M18 4h2v16h-2",
  pull: "M20 12H9M13 7l-5 5 5 5M4 4v16",
  tokens: "M8 11a4 4 0 1 1 3.5 4L9 17.500H7V20H4v-3l4.300-4.300",
  try: "M4 4l16 8-16 8 3-8zM7 12h7",
  search: "M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.500 15.500L21 21",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5",
  dark: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500z",
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M4 12.500l5 5L20 6.500",
  close: "M6 6l12 12M18 6L6 18",
  user: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 20c1-4 4-6 8-6s7 2 8 6",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  keys: "M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8",
  up: "M12 19V6M6 11l6-6 6 6",
  down: "M12 5v13M6 13l6 6 6-6",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l11 7-11 7z",
  refresh: "M20 5v5h-5M4 19v-5h5M19 10a7.500 7.500 0 0 0-14-1M5 14a7.500 7.500 0 0 0 14 1",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  warning: "M12 4L2.500 20h19zM12 10v5M12 17.500h.01",
  docs: "M6 3h9l4 4v14H6zM14 3v5h5M9 13h7M9 17h7",
};

export const Icon = {
  view: ({ attrs }) =>
    m("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, m("path", { d: PATHS[attrs.name] ?? PATHS.more })),
};
