export {
  boolean,
  callable,
  check,
  errorMessage,
  expected,
  expecting,
  integer,
  isTime,
  name,
  number,
  object,
  oneOf,
  show,
  text,
  time,
  unchecked,
  withMethods,
  type Check,
  type Facts,
  type Kind,
} from "./checks.ts";
export {
  callOptions,
  completed,
  defaultsOf,
  problemsOf,
  refuse,
  sqlName,
  type ChangesOf,
  type Option,
  type OptionsOf,
  type OptionTable,
} from "./option.ts";
export { consumerOptions } from "../admin/subscribe-options.ts";
export { deadLetterOptions } from "../admin/dead-letter-options.ts";
export { peekOptions, tailOptions } from "../admin/message-options.ts";
export { scheduleOptions } from "../admin/schedule-options.ts";
export { clientOptions } from "./client-options.ts";
export { queueOptions } from "../queue/queue-options.ts";
export { receiveOptions } from "../receive/receive-options.ts";
export { nackOptions } from "../settle/settle-options.ts";
export { replyOptions } from "../call/reply-options.ts";
export { progressJson, resultJson, stepJson } from "../call/result-json.ts";
export { headerOptionsOf } from "../send/header-options.ts";
export { sendOptions, streamOptions } from "../send/send-options.ts";
