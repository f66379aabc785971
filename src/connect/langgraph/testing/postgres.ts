import { PGlite } from "@electric-sql/pglite";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";

/** A Postgres of its own on a port of this machine, in this process; or why there is none. */
export async function startPostgres(): Promise<
  { readonly url: string; stop(): Promise<void> } | { readonly why: string }
> {
  try {
    const database = await PGlite.create();
    const server = new PGLiteSocketServer({ db: database, port: 0, host: "127.0.0.1", maxConnections: 20 });
    await server.start();
    return {
      url: `postgres://postgres:postgres@${server.getServerConn()}/postgres`,
      stop: async () => {
        await server.stop();
        await database.close();
      },
    };
  } catch (error) {
    return { why: `Postgres does not start here: ${(error as Error).message}` };
  }
}

/** Its driver brings no types along. */
const DRIVER: string = "pg";

/** A saver of LangGraph on one connection: this Postgres mixes up what several of them prepare. */
export async function postgresSaver(url: string): Promise<PostgresSaver> {
  const { default: driver } = (await import(DRIVER)) as {
    default: { Pool: new (options: object) => ConstructorParameters<typeof PostgresSaver>[0] };
  };
  return new PostgresSaver(new driver.Pool({ connectionString: url, max: 1 }));
}
