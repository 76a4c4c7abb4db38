import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient, type Prisma } from "../../../../docs/examples/transactions/generated/prisma/client.ts";
import { field } from "../support/field.ts";
import { conformance } from "./conformance.ts";
import { brokenConnection } from "./conformance/broken-connection.ts";
import type { Library } from "./library.ts";

const library: Library<Prisma.TransactionClient> = {
  open: async (connectionString, max) => {
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString, max }) });
    return {
      transaction: (work, isolation) =>
        prisma.$transaction(work, { timeout: 60_000, ...(isolation && { isolationLevel: "Serializable" }) }),
      nested: (tx, work) => tx.$transaction(work),
      run: (tx, statement) => tx.$queryRawUnsafe(statement),
      end: () => prisma.$disconnect(),
    };
  },
  sqlstateOf: (error) => field(field(field(field(error, "meta"), "driverAdapterError"), "cause"), "originalCode"),
};

conformance(library);
brokenConnection(library);
