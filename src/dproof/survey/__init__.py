"""Surveys that sanitise on the respondent's device: the page that draws, and the release made of what it sends.

plan ─ certify_row ─► law ─ form ─► what is asked and drawn ─ page ─► survey.html
answers: lines of JSON ─ releases.adopt ─► codes ─► a local release
"""
