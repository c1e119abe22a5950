/** Receivers in Express, Connect, and servers of `node:http`. */
import { answer, headersOf, type Handler, type ReceiverOptions } from "./receive.js";

type Incoming = AsyncIterable<Uint8Array> & { headers: Record<string, string | string[] | undefined>; body?: unknown; readableEnded?: boolean };
type Outgoing = { writeHead(status: number, headers: Record<string, string>): unknown; end(body: string): unknown };

/** `app.post("/close", receiver(handler, {secrets}))`. Mount it before `express.json()`, or give the route `express.raw({type: () => true})`: the
 * signature is one of the bytes as they came. */
export function receiver(handler: Handler, options: ReceiverOptions) {
  return async (request: Incoming, response: Outgoing, next?: (error: unknown) => void): Promise<void> => {
    try {
      const isRaw = request.body instanceof Uint8Array;
      if (!isRaw && request.readableEnded) throw new Error("The body was read before duepost's receiver: mount it before express.json().");
      const { status, headers, body } = await answer(isRaw ? [request.body as Uint8Array] : request, headersOf(request.headers), handler, options);
      response.writeHead(status, headers);
      response.end(body);
    } catch (error) {
      if (!next) throw error;
      next(error);
    }
  };
}
