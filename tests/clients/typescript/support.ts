/** What the tests share: servers that end with their test, and a proxy that loses answers. */
import { once } from "node:events";
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { after } from "node:test";
import { startDuepost, type TestOptions } from "duepost/testing";

export const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

export async function start(options: TestOptions = {}) {
  const server = await startDuepost({ clock: "host", ...options });
  after(() => server.stop());
  return server;
}

export async function until<T>(condition: () => T | Promise<T>, what: string): Promise<NonNullable<T>> {
  const end = Date.now() + 60_000 * Number(process.env.DUEPOST_TEST_SLOW ?? 1);
  for (;;) {
    const found = await condition();
    if (found) return found as NonNullable<T>;
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A proxy to the server at url. While `swallows` is above 0, a connection is cut when its answer comes. cut() ends all connections. */
export async function startProxy(url: string) {
  const target = new URL(url), sockets = new Set<Socket>();
  const state = { url: "", swallows: 0, connections: 0, cut: () => sockets.forEach((each) => each.destroy()) };
  const server = createTcpServer((client) => {
    state.connections++;
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => { sockets.delete(socket); client.destroy(); upstream.destroy(); });
    }
    client.pipe(upstream);
    upstream.on("data", (piece) => {
      if (state.swallows > 0) {
        state.swallows--;
        client.destroy();
      } else {
        client.write(piece);
      }
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  after(() => { server.close(); state.cut(); });
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}
