// Starts the dashboard.

import { m } from "./lib.js";
import { startRouter } from "./router.js";
import { startTheme } from "./theme.js";
import { startKeys } from "./keys.js";
import { loadAccess } from "./api.js";
import { Shell } from "./shell.js";

startTheme();
startRouter();
startKeys();
m.mount(document.getElementById("app"), Shell);
loadAccess().catch(() => {}); // if /access is missing, requests without the right get 403
