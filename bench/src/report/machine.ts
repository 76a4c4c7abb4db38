import os from "node:os";

export interface Machine {
  cpu: string;
  cores: number;
  memoryBytes: number;
  platform: string;
  node: string;
}

export function machine(): Machine {
  const cpus = os.cpus();
  return {
    cpu: cpus[0]?.model.trim() ?? "unknown",
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    platform: `${os.platform()} ${os.release()} ${os.arch()}`,
    node: process.versions.node,
  };
}

export function machineLine({ cpu, cores, memoryBytes, platform, node }: Machine): string {
  return `${cpu}, ${cores} cores, ${Math.round(memoryBytes / 2 ** 30)} GiB, ${platform}, Node.js ${node}. The harness runs on the same machine as an embedded server.`;
}
