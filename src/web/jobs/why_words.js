// Rewrites the sentence of GET …/why for the page: it names buttons instead of API requests.

const WORDS = [
  [/\bA PATCH of its expiresAt, and then POST \.\.\.\/run, brings/, `Change its expiresAt with "Edit"; "Run now" then brings`],
  [/\bA url of its own or of its topic, and then POST \.\.\.\/run, brings/, `Give it a url with "Edit", or its topic; "Run now" then brings`],
  [/\bfirst PATCH its url\b/, `first change its url with "Edit"`],
  [/\bDELETE it, or PUT the job again\./, `"Delete" it, and send the job again.`],
  [/\bPOST \.\.\.\/run\b/g, `"Run now"`],
  [/\bPUT \/topics\/\S+ replaces them, DELETE resets them\./, "Change or remove them on the page of the topic."],
  [/\bPATCH \/topics\/\S+ with \{"paused":null\} resumes it\./, `"Resume" on the page of the topic resumes it.`],
  [/\buntil PATCH \/topics\/\S+ with \{"paused":null\}\./, `until it is resumed on its page.`],
  [/\bGET \.\.\.\/.+?\/why says what/, "Its own page says what"],
  [/\bPOST \/receivers\/\S+\/close\b/, `"Let through" on the page Receivers`],
  [/: POST \/topics\/\S+\/lease\./, ". The page Pull topics shows the workers."],
];

export const inPageWords = (detail) => WORDS.reduce((text, [request, words]) => text.replace(request, words), detail);
