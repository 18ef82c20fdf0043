"""The pages for people: rendered here and usable without a script; one small script makes them quicker."""

from fastapi import APIRouter

from dproof.serve.pages import asking, entrance, planning, releasing, tokens
from dproof.serve.pages.layout import error_page

__all__ = ["error_page", "router"]

router = APIRouter(include_in_schema=False)
for _page in (entrance, asking, releasing, planning, tokens):
    router.include_router(_page.router)
