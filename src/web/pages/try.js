// Try it: compose a job, send it, follow it to its end.

import { m } from "../lib.js";
import { Page } from "../parts/page.js";

export default { title: "Try it", view: () => m(Page, { title: "Try it" }) };
