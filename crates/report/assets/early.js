(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("tokometer-theme");
    if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  } catch {
    // Files may have no storage; the system's choice holds.
  }
})();
