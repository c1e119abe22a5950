// Failing: the share and number of a topic's attempts that failed within the last hour, and the last answer.

import { m } from "../lib.js";
import { number } from "../format.js";
import { href } from "../router.js";
import { State } from "../parts/state.js";

export const shareOf = ({ failed, attempts }) => (attempts ? failed / attempts : 0);

// Rounds down, so that "100 %" means each one.
const percent = (failing) => `${Math.max(1, Math.floor(100 * shareOf(failing)))} %`;

export const failingText = (failing) =>
  `${percent(failing)} of ${number(failing.attempts)} ${failing.attempts === 1 ? "attempt" : "attempts"} failed in the last hour${failing.lastAnswer ? `, last answer ${failing.lastAnswer}` : ""}`;

// The jobs of the topic that wait after a failure, or that died: those with an answer like the last one.
const jobsOf = (topic, lastAnswer) => href(["jobs"], { topic, lastStatus: /^\d+$/.test(lastAnswer ?? "") ? lastAnswer : undefined });

export const Failing = {
  view: ({ attrs: { topic, failing } }) =>
    failing ? m("a", { href: jobsOf(topic, failing.lastAnswer), title: failingText(failing) },
      m(State, { state: "bad", text: percent(failing) }), failing.lastAnswer ? m("span.sub", ` ${failing.lastAnswer}`) : null) : null,
};
