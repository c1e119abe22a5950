// keepOpen(): makes the browser ask before the tab is closed, while something runs that ends with the tab. Call the function
// that it returns when that is over. The browser asks only if the person has used the page, and in its own words.

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
