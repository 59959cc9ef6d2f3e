/** Starts the console. */

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { addCredential } from "./api/session.js";
import { App } from "./app/app.js";
import { listenToKeys } from "./app/keyboard.js";
import { takeToken } from "./app/location.js";
import { applyTheme } from "./app/preferences.js";
import "./app/style.css";

/** Before any request, so that no address with a token is left anywhere. */
function logInByAddress(): void {
  const token = takeToken();
  if (token !== undefined) addCredential(token);
}

logInByAddress();
window.addEventListener("hashchange", logInByAddress);
applyTheme();
listenToKeys();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
