// The page /docs: Swagger UI with the contract of this server. Without Swagger UI, the page has a link to the contract.

// The contract names the default address. Sends requests to the server of the page instead, also behind a proxy.
function toThisServer(request) {
  const { pathname, search } = new URL(request.url, document.baseURI);
  if (request.url.startsWith("http://127.0.0.1:7700/")) request.url = new URL(pathname.slice(1) + search, document.baseURI).href;
  return request;
}

// The theme that the dashboard has stored in this browser, see theme.js.
try {
  const theme = localStorage.getItem("duepost.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the system's theme applies.
}

// Shows and hides all but the first sentence of the contract's preface.
function startPreface() {
  const button = document.getElementById("preface");
  const text = button.textContent;
  button.hidden = false;
  button.addEventListener("click", () => {
    const isShort = document.getElementById("docs").classList.toggle("is-short");
    button.setAttribute("aria-expanded", String(!isShort));
    button.textContent = isShort ? text : "Hide them";
  });
}

if (window.SwaggerUIBundle) startPreface();
window.SwaggerUIBundle?.({
  url: "openapi.yaml",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  requestInterceptor: toThisServer,
});
