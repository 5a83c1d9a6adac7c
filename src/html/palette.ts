// The colors of everything that people see, light and dark, as variables of CSS.

export const palette = `:root {
  color-scheme: light dark;
  --ground: #fbfaf8; --text: #1f2328; --soft: #59636e; --line: #d8d5cf; --link: #0a58a5;
  --code: #f2f0ec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #15181c; --text: #e4e6e8; --soft: #9aa4ae; --line: #343a41; --link: #7db7f5;
    --code: #1d2126;
  }
}
`
