// The style of the pages for people, and of those on which operators moderate. It is a file of its
// own, because pages have no inline style.

import { palette } from './html.ts'

export const pageStyle = `${palette}* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--text);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere;
}
body > * { max-width: 46rem; margin-inline: auto; padding-inline: 1rem; }
a { color: var(--link); text-underline-offset: 0.15em; }
a:focus-visible, summary:focus-visible, form :focus-visible,
.content:focus-visible, pre:focus-visible, .wide:focus-visible, .scroll:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px;
}
article:focus { outline: none; }
article:focus-visible { outline: 3px solid var(--link); outline-offset: 0.5rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
header.site { display: flex; flex-wrap: wrap; gap: 0.5rem 1.25rem; align-items: baseline; }
header.site { padding-block: 1rem; }
header.site nav { display: flex; gap: 1rem; }
header.site a { text-decoration: none; }
header.site a:hover { text-decoration: underline; }
header.site > a { font-weight: 700; color: var(--text); }
header.site form { display: flex; flex: 1 1 16rem; gap: 0.5rem; max-width: 26rem; }
header.site form { margin-left: auto; }
input, button, select {
  min-width: 0; padding: 0.3rem 0.6rem; border: 1px solid var(--soft); border-radius: 0.25rem;
  background: var(--ground); color: var(--text); font: inherit; font-size: 0.9375rem;
}
input { flex: 1; }
input::placeholder { color: var(--soft); opacity: 1; }
button { cursor: pointer; }
button:hover { border-color: var(--link); color: var(--link); }
h1 { font-size: 1.5rem; line-height: 1.25; margin-block: 1rem 0.75rem; }
h1:has(+ .about) { margin-bottom: 0.25rem; }
h2 { font-size: 1.1rem; margin-block: 2rem 0.5rem; }
.about { color: var(--soft); font-size: 0.875rem; margin-block: 0.25rem 1rem; }
.about a { color: inherit; }
.about bdi { font-weight: 600; color: var(--text); }
.about time { white-space: nowrap; }
.id { font: 0.8125rem ui-monospace, monospace; }
h1, ol.list > li, article { overflow: clip; overflow-clip-margin: 0.5rem; }
ul { padding-left: 1.25rem; }
ol.list { list-style: none; margin: 0; padding: 0; }
ol.list > li { border-top: 1px solid var(--line); padding-block: 0.75rem; }
ol.list .about { margin-bottom: 0; }
ol.list .title { font-weight: 600; text-decoration: none; }
ol.list .title:hover { text-decoration: underline; }
mark { background: var(--mark); color: var(--text); border-radius: 0.125rem; }
.excerpt { margin-block: 0.25rem; }
.excerpt.begun::before, .excerpt.cut::after { content: "\\2026"; color: var(--soft); }
article { border-top: 1px solid var(--line); padding-block: 0.75rem 1rem; }
article[tabindex] { border-top-color: var(--link); }
article { scroll-margin-top: 1rem; }
article > .about { margin-block: 0 0.375rem; }
article:target { border-left: 4px solid var(--link); padding-left: 0.75rem; }
.content p, .content li, .content td, .source { white-space: pre-wrap; }
.content > :first-child { margin-top: 0; }
.content > :last-child { margin-bottom: 0; }
.content p, .content ul, .content ol { margin-block: 0.625rem; }
.content ol { padding-left: 1.75rem; }
.content li > ul, .content li > ol { margin-block: 0.125rem; }
.content li { padding-block: 0.0625rem; }
.content .h1, .content .h2 { font-size: 1.125rem; }
.content .h1, .content .h2, .content .h3, .content .h4, .content .h5, .content .h6 {
  font-weight: 650; line-height: 1.35; margin-block: 1.125rem 0.375rem;
}
.content hr { border: 0; border-top: 1px solid var(--line); margin-block: 1rem; }
.content[tabindex] { max-height: 40rem; overflow-y: auto; border: 1px solid var(--line); }
.content + .about { margin-top: 0.75rem; }
blockquote {
  margin: 0.625rem 0; padding-left: 0.875rem; border-left: 3px solid var(--line);
  color: var(--soft);
}
code { font: 0.875em/1.5 ui-monospace, monospace; }
.content code { padding: 0.0625rem 0.25rem; border-radius: 0.25rem; background: var(--code); }
pre {
  overflow-x: auto; overflow-wrap: normal; margin-block: 0.625rem; padding: 0.5rem 0.75rem;
  border: 1px solid var(--line); border-radius: 0.25rem; background: var(--code);
  font: 0.85rem/1.5 ui-monospace, monospace;
}
.source {
  padding: 0.5rem 0.75rem; border: 1px solid var(--line); border-radius: 0.25rem;
  background: var(--code); font: 0.875rem/1.55 ui-monospace, monospace;
}
details pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.wide, .scroll { overflow-x: auto; margin-block: 0.625rem; }
table { border-collapse: collapse; font-size: 0.9375rem; overflow-wrap: normal; }
th, td { border: 1px solid var(--line); padding: 0.25rem 0.625rem; text-align: start; }
th { background: var(--code); font-weight: 600; }
.facts { overflow-wrap: anywhere; }
.right { text-align: end; }
.center { text-align: center; }
code.id { user-select: all; }
details { border-top: 1px solid var(--line); padding-block: 0.5rem; }
summary { cursor: pointer; }
.note { color: var(--soft); font-style: italic; margin-block: 0.25rem; }
.private { font-weight: 600; font-size: 0.9375rem; margin-block: 0 1rem; }
h1 ~ .note { border-left: 4px solid var(--line); padding-left: 0.75rem; margin-block: 0 1rem; }
#news { position: sticky; bottom: 0; margin: 0; text-align: center; }
#news a {
  display: inline-block; margin-block: 0.5rem; padding: 0.4rem 1rem; border-radius: 2rem;
  background: var(--link); color: var(--ground); text-decoration: none; font-weight: 600;
}
nav.pages { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding-block: 0.75rem; }
nav.pages { border-top: 1px solid var(--line); }
nav.pages span { margin-left: auto; color: var(--soft); font-size: 0.875rem; }
nav.views { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; padding-block: 0 0.75rem; }
nav.views a { font-size: 0.9375rem; text-decoration: none; padding-block: 0.125rem; }
nav.views a:hover { text-decoration: underline; }
nav.views a[aria-current] {
  color: var(--text); font-weight: 600; border-bottom: 2px solid var(--link);
}
footer { color: var(--soft); font-size: 0.85rem; padding-block: 2rem; }
footer a { color: inherit; }
header.site:has(.account p) nav { flex: 1 0 60%; }
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
