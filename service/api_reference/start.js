// Shows openapi.json with Swagger UI, in the colours chosen on the page or the system's.

/** @type {(options: object) => object} */
const showReference = /** @type {any} */ (window).SwaggerUIBundle;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function chosenColours() {
  try {
    return JSON.parse(localStorage.getItem("dragoman.theme") ?? '""');
  } catch {
    return "";
  }
}

function applyColours() {
  const chosen = chosenColours();
  const isDark = chosen === "dark" || (chosen !== "light" && prefersDark.matches);
  document.documentElement.classList.toggle("dark-mode", isDark);
}

prefersDark.addEventListener("change", applyColours);
addEventListener("storage", applyColours);
applyColours();
showReference({
  url: new URL("openapi.json", document.baseURI).href,
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null, // Swagger UI would ask another host
});
