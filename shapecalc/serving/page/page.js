// textual.js opens the terminal and its socket when the page is loaded. This gives it its address, and the keyboard.
"use strict";

const terminal = document.querySelector("#terminal");
const words = document.querySelector("#words");
const start = window.onload;

const address = new URL("ws", location.href);
address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
address.search = location.search;
terminal.dataset.sessionWebsocketUrl = address.href;

// The address is the link to what is on the screen. Browsers let a page change its address only so often.
let waiting;
function holdSoon(link) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const held = new URL(location.href);
    for (const [name, value] of Object.entries(link)) held.searchParams.set(name, value);
    history.replaceState(null, "", held);
  }, 400);
}

window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(url.replace(/(\?.*)\?width=/, "$1&width="));
    addEventListener("pagehide", () => this.close());
    this.addEventListener("open", () => terminal.querySelector("textarea").focus());
    this.addEventListener("message", ({ data }) => {
      const [kind, link] = typeof data === "string" ? JSON.parse(data) : [];
      if (kind === "link") holdSoon(link);
    });
    this.addEventListener("close", ({ reason }) => {
      words.textContent = `${reason || "the server has gone"}; reload the page to begin anew`;
    });
  }
};

// The terminal measures its font once. Measured before the font is there, it would not fit the window.
window.onload = () => document.fonts.load("16px 'Roboto Mono'").finally(start);

// A browser may keep a page that one leaves, to show it again. Its app has ended, so it begins anew.
addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
