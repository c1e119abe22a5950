import type { components } from "./generated/contract.js";
import { seconds, type Duration } from "./requests.js";

/** The outcome of one job of a batch. Jobs without one have failed. */
export type BatchResult = NonNullable<components["schemas"]["BatchResults"]["results"]>[number];

/** What becomes of a job, other than "delivered". A handler returns or throws it. */
export class Outcome extends Error {
  constructor(readonly kind: "retry" | "bury" | "release" | "notYet" | "defer" | "results", message: string, readonly seconds?: number, readonly results?: BatchResult[]) {
    super(message);
  }
}

/** The attempt has failed; the next one begins after `delay`, without it by the job's retry schedule. */
export const retry = (delay?: Duration, error = "retry") => new Outcome("retry", error, delay === undefined ? undefined : seconds(delay));
/** The job is dead at once: `rejected` from a worker, `gone` from a receiver. */
export const bury = (error: string) => new Outcome("bury", error);
/** Workers only: the job is due again, and no attempt is counted. */
export const release = () => new Outcome("release", "released");
/** Receivers only: the job is neither delivered nor failed, and is sent again after `delay`, 1 s to 365 days. */
export const notYet = (delay: Duration) => new Outcome("notYet", "not yet", seconds(delay));
/** Receivers of topics with `defer`: the attempt stays open for this time, 1 s to 12 h, until `deferred(delivery)` ends it. */
export const defer = (span: Duration) => new Outcome("defer", "deferred", seconds(span));
/** Receivers of topics with `batch`: the outcome of each job. */
export const results = (list: BatchResult[]) => new Outcome("results", "results", undefined, list);
