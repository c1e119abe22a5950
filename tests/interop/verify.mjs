// Answers 204 if both libraries accept the request as signed with this secret, else 400. Prints its port.
import { createServer } from "node:http";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

const verifiers = [new Standard(process.argv[2]), new Svix(process.argv[2])];

createServer((request, answer) => {
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const body = Buffer.concat(parts).toString("utf8");
    try {
      for (const verifier of verifiers) {
        try {
          verifier.verify(body, request.headers);
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error; // the signature is valid, but the body is not JSON
        }
      }
      answer.writeHead(204).end();
    } catch (error) {
      answer.writeHead(400).end(String(error));
    }
  });
}).listen(0, "127.0.0.1", function () {
  console.log(this.address().port);
});
