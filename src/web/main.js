// Starts the dashboard.

import { m } from "./lib.js";
import { startRouter } from "./router.js";
import { loadAccess } from "./api.js";
import { startTheme } from "./theme.js";
import { startKeys } from "./keys.js";
import { checkPaths, Shell } from "./shell.js";

startTheme();
startRouter();
startKeys();
m.mount(document.getElementById("app"), Shell);
loadAccess().catch(() => {}); // after an error no button is disabled; the server then refuses what the token may not do
checkPaths().catch(() => {}); // without an answer, api.js reports more than this check
