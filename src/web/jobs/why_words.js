// Rewrites the sentence of GET …/why for the page: it names buttons instead of API requests.

const WORDS = [
  [/\bfirst PATCH its expiresAt, then POST \.\.\.\/run\./, `change its expiresAt with "Edit", then use "Run now".`],
  [/\bfirst set a url of the job or of its topic, then POST \.\.\.\/run\./, `give it a url with "Edit", or set one for its topic, then use "Run now".`],
  [/\bfirst PATCH its url\b/, `first change its url with "Edit"`],
  [/\bDELETE it, or PUT the job again\./, `"Delete" it, and send the job again.`],
  [/\bPOST \.\.\.\/run\b/g, `"Run now"`],
  [/\bPUT \/topics\/\S+ replaces them, DELETE resets them\./, "Change or remove them on the page of the topic."],
  [/\bPATCH \/topics\/\S+ with a url, or with \{"delivery":"pull"\},/, "A url, or the delivery pull, on the page of the topic"],
  [/\bPATCH \/topics\/\S+ with \{"paused":null\} resumes it\./, `"Resume" on the page of the topic resumes it.`],
  [/\buntil PATCH \/topics\/\S+ with \{"paused":null\}\./, `until it is resumed on its page.`],
  [/\bPATCH \/topics\/\S+ with a url, or with \{"delivery":"pull"\}, resumes/, "A url on the page of the topic, or delivery by pull, resumes"],
  [/\bGET \.\.\.\/.+?\/why says what/, "Its own page says what"],
  [/\bPOST \/receivers\/\S+\/close\b/, `"Let through" on the page Receivers`],
  [/: POST \/topics\/\S+\/lease\./, ". The page Pull topics shows the workers."],
];

export const inPageWords = (detail) => WORDS.reduce((text, [request, words]) => text.replace(request, words), detail);
