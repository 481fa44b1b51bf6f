// What the pages do beyond plain links and forms. They work without it.
(() => {
  "use strict";
  // The part of a page that is alive is asked for while someone can see it, and is not using it.
  document.addEventListener("htmx:before:request", (e) => {
    const live = document.getElementById("live");
    const used = live && (live.querySelector("details[open]") || (live.contains(document.activeElement) && document.activeElement.matches("input,textarea,select")));
    if (document.hidden || used) e.preventDefault();
  });
  const copies = () => document.querySelectorAll("button.copy[hidden]").forEach((b) => { b.hidden = !navigator.clipboard; });
  document.addEventListener("htmx:after:swap", copies);
  document.addEventListener("click", (e) => {
    const copy = e.target.closest("button.copy");
    if (copy) {
      navigator.clipboard.writeText(copy.parentElement.querySelector("code").textContent);
      copy.textContent = "Copied";
    }
    // An open form closes when something else is clicked.
    document.querySelectorAll("details.act[open]").forEach((d) => { if (!d.contains(e.target)) d.open = false; });
  });
  // A second click does not send a form twice. The page may come back from the browser's memory.
  document.addEventListener("submit", (e) => { if (e.target.method === "post") setTimeout(() => e.target.querySelectorAll("button").forEach((b) => { b.disabled = true; }), 0); });
  addEventListener("pageshow", () => { document.querySelectorAll("form button:not([data-off])").forEach((b) => { b.disabled = false; }); copies(); });

  // On a phone the menu is wider than the window.
  document.querySelector("nav.main [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  const move = (by) => {
    const rows = [...document.querySelectorAll("[data-row]")];
    if (!rows.length) return;
    const at = rows.findIndex((row) => row.classList.contains("sel"));
    rows.forEach((row) => row.classList.remove("sel"));
    const row = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    row.classList.add("sel");
    row.scrollIntoView({ block: "nearest" });
    const link = row.querySelector("a");
    if (link) link.focus();
  };
  const keys = {
    "/": () => document.querySelector(".find").focus(), j: () => move(1), k: () => move(-1),
    "?": () => document.getElementById("keys").showModal(),
    r: () => document.querySelector("[data-key=r]")?.focus(), p: () => document.querySelector("[data-key=p]")?.focus(),
  };
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") document.querySelectorAll("details.act[open]").forEach((d) => { d.open = false; });
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input,textarea,select") || document.querySelector("dialog[open]")) return;
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
})();
