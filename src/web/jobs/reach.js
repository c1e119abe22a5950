// needsTopic(filter) and TopicChoice, for tokens that are limited to topics: these list the jobs or workflows of one topic at
// a time.
//
//   m(TopicChoice, {page: ["jobs"], query, isOwn})    links to the topics of the token; isOwn: without sibling topics (orders~callbacks)

import { m } from "../lib.js";
import { get, session } from "../api.js";
import { href } from "../router.js";
import { Problem } from "../parts/problem.js";

export const needsTopic = (filter) => Boolean(session.access?.topics) && !filter.topic;

export function TopicChoice() {
  let topics = null;
  let error = null;
  return {
    oninit: async () => {
      try {
        topics = (await get("/topics", { limit: 1000 })).body.topics.map((one) => one.topic);
      } catch (problem) {
        error = problem;
      }
      m.redraw();
    },
    view: ({ attrs: { page, query, isOwn } }) =>
      m(".empty", m("h2", "Choose a topic"), m("p", "Your token is limited to some topics and can list one topic at a time."), m(Problem, { error }),
        topics && !topics.length ? m("p", "None of its topics has jobs or settings now.") : null,
        m("ul.topic-choice", (topics ?? []).filter((topic) => !isOwn || !topic.includes("~")).map((topic) => m("li", m("a.button", { href: href(page, { ...query, topic }) }, topic))))),
  };
}
