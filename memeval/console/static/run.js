// A link to one question opens it; when it is on another page, that page is asked for.
const wanted = location.hash.slice(1);
if (/^q-[0-9a-f]{12}$/.test(wanted)) {
  const question = document.getElementById(wanted);
  const address = new URL(location.href);
  if (question) {
    question.open = true;
    question.scrollIntoView();
  } else if (address.searchParams.get("at") !== wanted) {
    address.searchParams.set("at", wanted);
    location.replace(address);
  }
}
