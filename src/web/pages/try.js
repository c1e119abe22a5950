// Try it: compose a job, see it as code, send it, follow it to its end. The query fills the form: #/try?topic=orders.

import { m } from "../lib.js";
import { href } from "../router.js";
import { post, session, whyNot } from "../api.js";
import { jobPath } from "../format.js";
import { Page, Card, Command } from "../parts/page.js";
import { newDraft, jobOf, jobText, LANGUAGES, JobForm } from "../try/draft.js";
import { Follow } from "../try/follow.js";

let kept = null; // the draft, kept while the person visits other pages

export default function Try({ attrs: { query } }) {
  kept = Object.keys(query).length || !kept ? newDraft(query) : kept;
  const draft = kept;
  let language = LANGUAGES[0];
  let sent = null;
  let error = null;
  let isBusy = false;

  const onsubmit = async () => {
    const { job, errors } = jobOf(draft);
    error = errors.length ? { title: "The job is invalid", detail: errors.map((one) => one.detail).join(". "), errors } : null;
    if (error) return;
    isBusy = true;
    try {
      sent = (await post("/jobs", jobText(job))).body;
    } catch (problem) {
      error = problem;
    }
    isBusy = false;
    m.redraw();
  };

  return {
    view: () =>
      m(Page, { title: "Try it", sub: "Compose a job, send it, and follow it to its end." },
        m(".cards.try",
          m(Card, { title: "Job", class: "half" }, m(JobForm, { draft, error, isBusy, whyNot: whyNot("schedule", draft.topic.trim() || undefined), onsubmit })),
          m(".half.try-side",
            sent ? m("div", sentJobs(sent)) : null,
            m(Card, { title: "As code", actions: m(".switch", { role: "group", "aria-label": "Language" }, LANGUAGES.map((one) => languageButton(one, one === language, () => (language = one)))) },
              m(Command, { text: language.write(jobOf(draft).job, { url: new URL("jobs", document.baseURI).href, hasToken: session.hasToken }), label: "Copy the code" }))))),
  };
}
Try.title = "Try it";

const languageButton = (one, isChosen, onclick) => m("button", { type: "button", "aria-pressed": String(isChosen), onclick }, one.name);

function sentJobs(sent) {
  if (!sent.jobs) return m(Follow, { key: `${sent.topic}/${sent.jobId}/${sent.dueAt}`, job: sent });
  return m(Card, { title: "Accepted" }, m("ul", sent.jobs.map((job) => m("li", m("a", { href: href(jobPath(job)) }, `${job.topic}/${job.jobId}`)))));
}
