// Sets the chosen colours before the page is drawn. A classic script, because modules run later.

try {
  const theme = JSON.parse(localStorage.getItem("dragoman.theme") ?? '""');
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the colours are the system's.
}
