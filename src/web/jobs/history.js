// hasHistory(): a promise of whether the server keeps a history of ended jobs. Asked once.

import { get } from "../api.js";

let answer = null;

export function hasHistory() {
  answer ??= get("/overview").then(
    ({ body }) => Boolean(body.history),
    () => {
      answer = null; // asked again the next time
      return false;
    },
  );
  return answer;
}
