// hasHistory(): a promise of whether the server keeps a history of ended jobs. Sends one request for all calls.

import { get } from "../api.js";

let answer = null;

export function hasHistory() {
  answer ??= get("/overview").then(
    ({ body }) => Boolean(body.history),
    () => {
      answer = null; // the next call asks again
      return false;
    },
  );
  return answer;
}
