export { holderName, type Holder, type HolderKind } from "./holder.ts";
export { findHolders, findTransactions, holdersSql } from "./holders.ts";
