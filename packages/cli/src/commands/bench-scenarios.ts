import type { Run, RunHooks, ScenarioResults } from "@pgque/bench";
/** A scenario of the benchmark as a command. */
export interface BenchScenario {
  name: string;
  summary: string;
  details: string;
  examples: string;
  /** What `--quick` makes of it. */
  quick: string;
  /** Names a function of the benchmark, which is loaded when it runs: no other command needs it. */
  run: (bench: typeof import("@pgque/bench")) => (options: never, hooks: RunHooks) => Promise<Run<ScenarioResults>>;
}

/** The benchmark without the name of another scenario. */
export const xmin: BenchScenario = {
  name: "xmin",
  summary: "Measure what a held xmin horizon does to a queue.",
  details:
    "Every system is run under every horizon: first clean, then with the horizon held, then until the backlog is gone.",
  examples: `
  pgque bench --quick                          two minutes, saturated, indicative
  pgque bench --repeat 1                       800 messages/s for three minutes a trial, about a quarter of an hour
  pgque bench --quick --systems pgque-worker   the worker instead of bare SQL
  pgque bench --quick --baseline results/2026-01-31T08-05-00-xmin/results.json
                                               the same against an earlier run of it
  pgque bench --quick --postgres 14,18         on both, trial by trial in turn; of every scenario
  pgque bench --database-url postgres://…      on a server of yours, in databases made for it and dropped again
  pgque bench engine --quick                   another scenario: the engine itself`,
  quick: "about two minutes: saturated, one repeat",
  run: ({ runBench }) => runBench,
};

/** In the order in which help lists them. */
export const scenarios: readonly BenchScenario[] = [
  {
    name: "engine",
    summary: "Measure the engine itself: sends, WAL, latency, rotation, …",
    details: "Each microbenchmark against the targets set for it.",
    examples: `
  pgque bench engine --quick                    small sizes, a few minutes, indicative
  pgque bench engine --microbenchmarks send,latency   only these
  pgque bench engine --repeat 1 --json          everything once, results.json on standard output`,
    quick: "small sizes, one repeat",
    run: ({ runEngine }) => runEngine,
  },
  {
    name: "send",
    summary: "Measure how fast the client sends, against COPY, INSERT and other queues.",
    details:
      "Many messages in one call against COPY by hand, graphile-worker and BullMQ, one message against a prepared INSERT.",
    examples: `
  pgque bench send --quick                            two minutes, once, indicative
  pgque bench send --systems pgque,copy,insert        nothing but PostgreSQL and this client`,
    quick: "one repeat of a second a trial",
    run: ({ runSend }) => runSend,
  },
  {
    name: "drain",
    summary: "Measure how fast workers drain a queue, against other queues.",
    details:
      "Messages sent before the start, a handler that does nothing, one process and several, beside graphile-worker and BullMQ.",
    examples: `
  pgque bench drain --quick                                    two minutes, once, indicative
  pgque bench drain --systems pgque,graphile-worker            only these
  pgque bench drain --memory --systems pgque --processes 1 --messages 10000000 --repeat 1
                                                               whether the worker's memory grows`,
    quick: "one repeat with 50000 messages",
    run: ({ runDrain }) => runDrain,
  },
  {
    name: "latency",
    summary: "Measure how long a message takes to its handler, against other queues.",
    details:
      "From when a message was due to be sent until its handler has it, with an idle worker, beside bare round trips.",
    examples: `
  pgque bench latency --quick                                  two minutes, once, indicative
  pgque bench latency --rates 1000 --handler-ms 5              a worker that is half busy
  pgque bench latency --synchronous-commit off                 without the wait for the disk`,
    quick: "one repeat of four seconds a trial",
    run: ({ runLatency }) => runLatency,
  },
  {
    name: "rates",
    summary: "Measure what workers cost at rates from idle to saturated.",
    details: "CPU of the server and of the workers, latency and receives a message, with few workers and many.",
    examples: `
  pgque bench rates --quick                                    two minutes, once, indicative
  pgque bench rates --rates idle --workers 100                 what workers cost that have nothing to do
  pgque bench rates --rates 100,800 --systems pgque,skip-locked`,
    quick: "one repeat of two seconds a trial, fewer rates and workers",
    run: ({ runRates }) => runRates,
  },
  {
    name: "throughput",
    summary: "Measure how fast messages are sent, and how fast received.",
    details:
      "Sends one a transaction and in batches, and a backlog received in batches: each on its own, as fast as it goes.",
    examples: `
  pgque bench throughput --quick                         two minutes, once, indicative
  pgque bench throughput --systems pgque,skip-locked     only these
  pgque bench throughput --synchronous-commit on         with the wait for the disk
  pgque bench throughput --payload-bytes 100 --batch 1000`,
    quick: "one repeat of two seconds a trial, smaller batches",
    run: ({ runThroughput }) => runThroughput,
  },
  {
    name: "receive",
    summary: "Measure how long it takes to receive and finish a batch, by its size.",
    details:
      "Batches of 1 to 100 messages and polls that find nothing, in SQL on one connection: with nothing held, and beside a transaction that holds\nthe xmin horizon.",
    examples: `
  pgque bench receive --quick                         50 batches of each size, once, indicative
  pgque bench receive --sizes 1,10                    only these
  pgque bench receive --systems pgque,skip-locked     only these`,
    quick: "one repeat of 50 batches of each size",
    run: ({ runReceive }) => runReceive,
  },
  {
    name: "priority",
    summary: "Measure how long workers take to do jobs by priority.",
    details: "Jobs that are there at the start, one at a time, the highest priority first; and bare UPDATEs for scale.",
    examples: `
  pgque bench priority --quick                         2000 jobs, once, indicative
  pgque bench priority --systems pgque,skip-locked     only these
  pgque bench priority --jobs 100000 --workers 16`,
    quick: "one repeat of 2000 jobs",
    run: ({ runPriority }) => runPriority,
  },
  {
    name: "degradation",
    summary: "Measure how a queue degrades beside a transaction that nobody ends.",
    details:
      "As Brandur Leach did with Que in 2015: the backlog and the time to lock a message as the transaction grows old.",
    examples: `
  pgque bench degradation --quick                                   20 seconds each at a higher rate, indicative
  pgque bench degradation --duration 3600                           an hour each, as the original
  pgque bench degradation --systems skip-locked,pgque,pgque-batch   only these`,
    quick: "20 seconds each at 100 messages/s",
    run: ({ runDegradation }) => runDegradation,
  },
  {
    name: "retention",
    summary: "Measure what a slot that keeps dead tuples for a while costs.",
    details:
      "pgbench's TPC-B-like load and a queue, beside a slot that holds the xmin horizon and moves on after an interval.",
    examples: `
  pgque bench retention --quick                            two minutes, indicative
  pgque bench retention --intervals none,1000,dynamic      only these
  pgque bench retention --intervals none,100000 --repeat 1`,
    quick: "one repeat of ten seconds a trial",
    run: ({ runRetention }) => runRetention,
  },
  {
    name: "soak",
    summary: "Measure whether anything grows in half an hour and longer.",
    details: "At a steady rate: dead tuples, size on disk, latency, memory of the clients and of the server.",
    examples: `
  pgque bench soak --quick                              half a minute, indicative
  pgque bench soak                                      half an hour
  pgque bench soak --duration 28800 --systems pgque-worker
  pgque bench soak --systems pgque,skip-locked --horizons none,repeatable-read`,
    quick: "half a minute a trial",
    run: ({ runSoak }) => runSoak,
  },
  {
    name: "compare",
    summary: "Compare everything that is installed, in one table.",
    details: "Finished messages a second, without and with the horizon held, latency, WAL and dead tuples.",
    examples: `
  pgque bench compare --quick                          once, indicative
  pgque bench compare --systems pgque,skip-locked      only these
  pgque bench compare --horizon repeatable-read --duration 180 --repeat 5`,
    quick: "one repeat of five seconds a phase",
    run: ({ runCompare }) => runCompare,
  },
];
