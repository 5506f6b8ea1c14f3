// textual.js opens the terminal and its socket. This gives it the address, and the terminal the keyboard.
"use strict";

const words = () => document.querySelector("#words");

window.WebSocket = class extends WebSocket {
  constructor(address) {
    super(address.replace("?width=", "&width="));
    this.addEventListener("open", () => document.querySelector(".xterm-helper-textarea").focus());
    this.addEventListener("close", (event) => {
      words().textContent = `${event.reason || "the server has gone"}; reload the page to begin anew`;
    });
  }
};

addEventListener("DOMContentLoaded", () => {
  const address = new URL("ws", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  address.search = location.search;
  document.querySelector("#terminal").dataset.sessionWebsocketUrl = address.href;
});
