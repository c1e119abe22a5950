export * from "./client.js";
export * from "./errors.js";
export type { EventQuery, JobEvent } from "./events.js";
export type { components, operations, paths } from "./generated/contract.js";
export type { Attempt, Fired, Group, KeySettings, LimitSettings, NewSchedule, Placed, Schedule, Settings, TopicState } from "./generated/contract.js";
export * from "./outcome.js";
export * from "./receive.js";
export type { Answer, Duration, Options, Query } from "./requests.js";
export { deferred, type LeasedJob, type Work, type WorkOptions } from "./work.js";
