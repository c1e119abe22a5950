// keepOpen(): asks before the tab is closed, for what ends with it. Call the function that it returns once that is over.
// The browser asks only if the person has done something on the page, and in words of its own.

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
