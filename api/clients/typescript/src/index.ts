export type * from "./generated/contract.js";
