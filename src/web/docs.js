// The page /docs: Swagger UI with the contract of this server. Without Swagger UI, the page has a link to the contract.

// The contract names the default address. Sends requests to the server of the page instead, also behind a proxy.
function toThisServer(request) {
  const { pathname, search } = new URL(request.url, document.baseURI);
  if (request.url.startsWith("http://127.0.0.1:7700/")) request.url = new URL(pathname.slice(1) + search, document.baseURI).href;
  return request;
}

window.SwaggerUIBundle?.({
  url: "openapi.yaml",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  requestInterceptor: toThisServer,
});
