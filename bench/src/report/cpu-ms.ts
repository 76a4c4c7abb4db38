/** CPU seconds as milliseconds, with as many digits as mean something. */
export const cpuMs = (seconds: number): string => `${(seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0)} ms`;
