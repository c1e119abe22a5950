// Whether a proxy before the server changes paths. An id with a slash, which is encoded as %2F, would then become another
// path, and an action could reach another job or a topic.
//
//   checkPaths()         asks the server once, at start
//   pathCheck.warning    a sentence for people, or ""

import { m } from "./lib.js";

export const pathCheck = { warning: "" };

// Like the encoded id a/../b%2Fc, and two slashes, which the clients of QStash's API send. Browsers send it as it is.
const SENT_ID = "a%2F..%2Fb%252Fc";
const SENT = `${SENT_ID}//d`;

// Returns the path that arrives, null for another answer, and SENT for an error of a server that is too old for this check.
async function arrived(path) {
  const answer = await fetch(new URL(`path-check/${path}`, document.baseURI), { cache: "no-store", credentials: "omit", redirect: "error" });
  if (answer.headers.get("Content-Type") === "application/problem+json") return SENT;
  const body = await answer.json().catch(() => null);
  return typeof body?.path === "string" ? body.path : null;
}

export async function checkPaths() {
  const got = await arrived(SENT);
  if (got === SENT) return;
  if (got === null) {
    if ((await arrived("a")) !== "a") return; // it is not about slashes
    pathCheck.warning = `A proxy refuses the path ${SENT}, so jobs whose ids have a slash cannot be opened.`;
  } else if (got.startsWith(SENT_ID)) {
    pathCheck.warning = `A proxy changes the path ${SENT} to ${got}. Clients of QStash's API need it as they send it.`;
  } else {
    pathCheck.warning = `A proxy changes the path ${SENT} to ${got}. An action on a job can reach another job or a topic.`;
  }
  m.redraw();
}
