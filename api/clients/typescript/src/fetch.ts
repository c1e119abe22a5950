/** Receivers on the fetch API: Hono, route handlers of Next.js, Deno, Bun, Cloudflare Workers. */
import { answer, type Handler, type ReceiverOptions } from "./receive.js";

/** `export const POST = receiver(handler, {secrets})`, `Deno.serve(receiver(...))`, `app.post("/close", (c) => receive(c.req.raw))`. */
export function receiver(handler: Handler, options: ReceiverOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, headers, body } = await answer(request.body ?? [], request.headers, handler, options);
    return new Response(body, { status, headers });
  };
}
