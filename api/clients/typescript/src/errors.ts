import type { components } from "./generated/contract.js";

type Schemas = components["schemas"];
/** The members of a problem; some have more, such as `errors`, `state`, `maxPending`. */
export type ProblemDocument = Schemas["Problem"] & Partial<Schemas["QuotaProblem"]> & Partial<Schemas["ValidationProblem"]> & Partial<Schemas["LeaseProblem"]>;

export class DuepostError extends Error {}
/** No answer came. What the request asked for may have happened. */
export class ConnectionFailed extends DuepostError {}

/** An answer of the server that is not a success. */
export class Problem extends DuepostError {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** The faults of the request, if the status is 400. */
  readonly errors: { field: string; detail: string }[];

  /** retryAfter: seconds after which the server may accept the request. */
  constructor(readonly document: ProblemDocument, readonly retryAfter = document.retryAfter) {
    const errors = document.errors ?? [];
    super([`${document.status}: ${document.detail}`, ...errors.map(({ field, detail }) => `${field || "document"} ${detail}`)].join("; "));
    this.name = new.target.name;
    this.errors = errors;
    ({ status: this.status, title: this.title, detail: this.detail } = document);
  }

  static of(document: ProblemDocument, retryAfter?: number): Problem {
    return new (KINDS[document.status] ?? Problem)(document, retryAfter);
  }
}

/** 400, 413, 415, 422: the request is wrong, and stays wrong when it is repeated. */
export class Invalid extends Problem {}
export class Unauthorized extends Problem {}
export class Forbidden extends Problem {}
export class NotFound extends Problem {}
/** 409, 412: not in the present state of the job. */
export class Conflict extends Problem {}
export class TooMany extends Problem {}
export class Unavailable extends Problem {}

const KINDS: Record<number, typeof Problem> = { 400: Invalid, 401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 412: Conflict,
  413: Invalid, 415: Invalid, 422: Invalid, 429: TooMany, 503: Unavailable };
