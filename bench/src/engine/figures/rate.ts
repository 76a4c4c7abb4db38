import { quotient } from "../../measure/quotient.ts";

/** What several rounds come to together. */
export class Rate {
  #messages = 0;
  #seconds = 0;
  #cpuSeconds: number | null = 0;

  /** `cpuSeconds`: the server's; null where its processes cannot be seen. */
  add(round: { messages: number; seconds: number; cpuSeconds: number | null }): void {
    this.#messages += round.messages;
    this.#seconds += round.seconds;
    this.#cpuSeconds =
      this.#cpuSeconds === null || round.cpuSeconds === null ? null : this.#cpuSeconds + round.cpuSeconds;
  }

  get perSecond(): number | null {
    return quotient(this.#messages, this.#seconds);
  }

  get cpuMicros(): number | null {
    return this.#cpuSeconds === null ? null : quotient(this.#cpuSeconds * 1_000_000, this.#messages);
  }
}
