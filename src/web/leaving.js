// keepOpen(): makes the browser ask before it closes the tab. Call it when an action begins that closing the tab would cancel,
// and call the function that it returns when the action is over. The browser asks only if the person has used the page, and in
// its own words.

let reasons = 0;

function onbeforeunload(event) {
  event.preventDefault();
  event.returnValue = true; // Chromium before 119
}

export function keepOpen() {
  if (reasons++ === 0) window.addEventListener("beforeunload", onbeforeunload);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    if (--reasons === 0) window.removeEventListener("beforeunload", onbeforeunload);
  };
}
