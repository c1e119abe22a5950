// Watches a job: reads it each second while the tab is visible, so that its page stays up to date.

import { get, path } from "../api.js";

const PERIOD_MS = 1000;
const SLOW_PERIOD_MS = 5000; // while the job cannot be read
const DETAILS_EVERY = 5; // every fifth round without a change of the job also reads …/why, whose answer may have changed

export class JobWatch {
  constructor(topic, jobId, changed) {
    Object.assign(this, { topic, jobId, changed, job: null, text: null, etag: null, attempts: [], why: null, problem: null });
    Object.assign(this, { isGone: false, isStopped: false, timer: null, rounds: 0 });
    this.onVisible = () => this.plan(0);
    document.addEventListener("visibilitychange", this.onVisible);
    this.round();
  }

  stop() {
    this.isStopped = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.onVisible);
  }

  // Reads the job now, after a change for example.
  refresh() {
    this.rounds = 0;
    return this.round();
  }

  plan(wait) {
    clearTimeout(this.timer);
    if (!this.isStopped && !document.hidden) this.timer = setTimeout(() => this.round(), wait);
  }

  async round() {
    clearTimeout(this.timer);
    try {
      await this.read();
      this.problem = null;
      this.isGone = false;
    } catch (error) {
      this.isGone = error.status === 404 && this.job !== null;
      this.problem = this.isGone ? null : error;
    }
    if (this.isStopped) return;
    this.changed();
    this.plan(this.isGone || this.problem ? SLOW_PERIOD_MS : PERIOD_MS);
  }

  async read() {
    const where = path`/jobs/${this.topic}/${this.jobId}`;
    const { body, text, etag } = await get(where);
    const isNew = text !== this.text;
    Object.assign(this, { job: body, text, etag });
    if (isNew || this.rounds++ % DETAILS_EVERY === 0) await this.readDetails(where);
  }

  // If the job ends between the requests, the next round reads all of it.
  async readDetails(where) {
    const [attempts, why] = await Promise.allSettled([get(`${where}/attempts`), get(`${where}/why`)]);
    if (attempts.value) this.attempts = attempts.value.body.attempts;
    if (why.value) this.why = why.value.body;
  }
}

// Rewrites the sentence of GET …/why for the page: it names buttons instead of API requests.

const WORDS = [
  [/\bfirst PATCH its expiresAt, then POST \.\.\.\/run\./, `change its expiresAt with "Edit", then use "Run now".`],
  [/\bfirst set a url of the job or of its topic, then POST \.\.\.\/run\./, `give it a url with "Edit", or set one for its topic, then use "Run now".`],
  [/\bfirst PATCH its url\b/, `first change its url with "Edit"`],
  [/\bDELETE it, or PUT the job again\./, `"Delete" it, and send the job again.`],
  [/\bPOST \.\.\.\/run\b/g, `"Run now"`],
  [/\bPUT \/topics\/\S+ replaces them, DELETE resets them\./, "Change or remove them on the page of the topic."],
  [/\bPATCH \/topics\/\S+ with a url, or with \{"delivery":"pull"\},/, "A url, or the delivery pull, on the page of the topic"],
  [/\bPATCH \/topics\/\S+ with \{"paused":null\} resumes it\./, `"Resume" on the page of the topic resumes it.`],
  [/\buntil PATCH \/topics\/\S+ with \{"paused":null\}\./, `until it is resumed on its page.`],
  [/\bPATCH \/topics\/\S+ with a url, or with \{"delivery":"pull"\}, resumes/, "A url on the page of the topic, or delivery by pull, resumes"],
  [/\bPATCH \/topics\/\S+ changes them\./, "Change them on the page of the topic."],
  [/\bGET \.\.\.\/.+?\/why says what/, "Its own page says what"],
  [/\bPATCH \.\.\.\/keys\/.+ with \{"paused":null\} resumes it\./, `"Resume" of the key on the page of the topic resumes it.`],
  [/\bPATCH \.\.\.\/keys\/.+ with a higher maxInFlight or rate lets more begin\./, `A higher limit of the key lets more begin: "Change" on the page of the topic.`],
  [/\bPATCH \/limits\/\S+ with \{"paused":null\} resumes it\./, `"Resume" on the page Limits resumes it.`],
  [/\bPATCH \/limits\/\S+ with a higher maxInFlight or rate lets more begin\./, "A higher limit, on the page Limits, lets more begin."],
  [/\bPOST \/receivers\/\S+\/close\b/, `"Let through" on the page Receivers`],
  [/: POST \/topics\/\S+\/lease\./, ". The page Pull topics shows the workers."],
];

export const inPageWords = (detail) => WORDS.reduce((text, [request, words]) => text.replace(request, words), detail);
