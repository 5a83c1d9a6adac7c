// The style of forms, and of the parts for people who are signed in; a part of the pages' style.

export const formStyle = `header.site:has(.account) nav { flex: 1 0 60%; }
header.site:has(.account) form { flex: 2 1 16rem; margin-left: 0; }
header.site form.account {
  flex: 1 1 12rem; min-width: 0; max-width: none; align-items: baseline; justify-content: flex-end;
}
.account p {
  min-width: 0; margin: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  font-size: 0.875rem; color: var(--soft);
}
.account button { flex: none; }
.account bdi { font-weight: 600; color: var(--text); }
form.entry { max-width: 40rem; }
.field label, legend { display: block; font-weight: 600; padding: 0; }
.field { margin-block: 0.75rem; }
.field input, textarea { width: 100%; }
textarea {
  display: block; padding: 0.5rem 0.6rem; border: 1px solid var(--soft); border-radius: 0.25rem;
  background: var(--ground); color: var(--text); font: inherit; resize: vertical;
}
.entry > p > button { background: var(--link); border-color: var(--link); color: var(--ground); }
.entry > p > button:hover { background: var(--text); color: var(--ground); }
.hint { display: block; margin-top: 0.375rem; color: var(--soft); font-size: 0.875rem; }
.problem { color: var(--wrong); font-weight: 600; }
span.problem { display: block; margin-top: 0.375rem; font-size: 0.9375rem; }
p.problem { border-left: 4px solid var(--wrong); padding-left: 0.75rem; }
[aria-invalid] { border-color: var(--wrong); border-width: 2px; }
fieldset { border: 1px solid var(--line); border-radius: 0.25rem; margin: 0.75rem 0; }
.choices { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin: 0.25rem 0; }
.choices input, .field.choice input { flex: none; width: auto; }
.token code {
  display: block; padding: 0.75rem; border: 1px solid var(--line); background: var(--code);
  font: 0.875rem/1.5 ui-monospace, monospace; user-select: all;
}
:root { --wrong: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --wrong: #f2928c; } }
`
