-- What the first version of the portal had in its database, in SQL that both databases understand.
-- It is history: it goes on filling the first schema, whatever later migrations make of it.
-- Ada's password is "correct horse battery staple".

INSERT INTO organisation (name, slug, active, created_at)
VALUES ('Harbour', 'harbour', true, 1767225600000000);

INSERT INTO profile (organisation_id, email, email_key, name, role, active, password_hash, theme, keyboard_shortcuts, created_at)
SELECT id, 'Ada@harbour.example', 'ada@harbour.example', 'Ada', 'member', true,
       '$argon2id$v=19$m=65536,t=3,p=4$oXDsm1hFvTLqqOW77CJRsA$1o1ppX6kzjlFM6xDcalO/npCeDKCDEsWkIm2YSrSqlo', 'system', true, 1767225600000001
FROM organisation WHERE slug = 'harbour';

INSERT INTO profile (organisation_id, email, email_key, name, role, active, password_hash, theme, keyboard_shortcuts, created_at)
SELECT id, 'root@harbour.example', 'root@harbour.example', 'Root', 'administrator', true, NULL, 'dark', false, 1767225600000002
FROM organisation WHERE slug = 'harbour';

INSERT INTO agent_definition (organisation_id, name, title, description, memory_limit, memory_characters,
                              proposal_limit, account_fact_limit, account_fact_characters, second_person_required, created_at)
SELECT id, 'support', 'Support', 'Answers questions', 100, 20000, 20, 100, 20000, false, 1767225600000003
FROM organisation WHERE slug = 'harbour';

INSERT INTO agent (organisation_id, owner_id, definition_id, prompt_marker, created_at)
SELECT profile.organisation_id, profile.id, agent_definition.id, '0123456789abcdef', 1767225600000004
FROM profile JOIN agent_definition ON agent_definition.organisation_id = profile.organisation_id
WHERE profile.email_key = 'ada@harbour.example';

-- One memory of each status. 4611686018427387001 and the like are ids as the application makes them.
INSERT INTO agent_memory (organisation_id, definition_id, scope_id, memory_key, id, status, content, search_text, version,
                          stated_by_id, stated_at, created_at, updated_at, decided_by_id, decided_at, decision_reason)
SELECT organisation_id, definition_id, owner_id, 'preferred_language', 4611686018427387001, 'personal',
       'Answers in German' || char_of_line || 'and in 日本語', NULL, 1,
       owner_id, 1767225601000000, 1767225601000000, 1767225601000000, NULL, NULL, ''
FROM agent, (SELECT '
' AS char_of_line) AS texts;

INSERT INTO agent_memory (organisation_id, definition_id, scope_id, memory_key, id, status, content, search_text, version,
                          stated_by_id, stated_at, created_at, updated_at, decided_by_id, decided_at, decision_reason)
SELECT organisation_id, definition_id, owner_id, 'office', 4611686018427387002, 'proposed',
       'Fifth floor', 'office' || separator || 'fifth floor', 1,
       owner_id, 1767225602000000, 1767225602000000, 1767225602000000, NULL, NULL, ''
FROM agent, (SELECT '' AS separator) AS texts;

INSERT INTO agent_memory (organisation_id, definition_id, scope_id, memory_key, id, status, content, search_text, version,
                          stated_by_id, stated_at, created_at, updated_at, decided_by_id, decided_at, decision_reason)
SELECT agent.organisation_id, agent.definition_id, 0, 'support_hours', 4611686018427387003, 'confirmed',
       'Weekdays', 'support_hours' || separator || 'weekdays', 2,
       agent.owner_id, 1767225603000000, 1767225603000000, 1767225604000000, root.id, 1767225604000000, ''
FROM agent JOIN profile AS root ON root.email_key = 'root@harbour.example', (SELECT '' AS separator) AS texts;

INSERT INTO agent_memory (organisation_id, definition_id, scope_id, memory_key, id, status, content, search_text, version,
                          stated_by_id, stated_at, created_at, updated_at, decided_by_id, decided_at, decision_reason)
SELECT agent.organisation_id, agent.definition_id, -agent.owner_id, 'refunds', 4611686018427387004, 'rejected',
       'Always', 'refunds' || separator || 'always', 2,
       agent.owner_id, 1767225605000000, 1767225605000000, 1767225606000000, root.id, 1767225606000000, 'Not always'
FROM agent JOIN profile AS root ON root.email_key = 'root@harbour.example', (SELECT '' AS separator) AS texts;

-- The event of each memory's first version, and of each decision.
INSERT INTO memory_event (organisation_id, memory_id, version, definition_id, at, action, status_before, status_after,
                          memory_key, actor_kind, actor_id)
SELECT organisation_id, id, 1, definition_id, created_at,
       CASE status WHEN 'personal' THEN 'remembered' ELSE 'proposed' END, NULL,
       CASE status WHEN 'personal' THEN 'personal' ELSE 'proposed' END,
       CASE status WHEN 'personal' THEN NULL ELSE memory_key END, 'agent', stated_by_id
FROM agent_memory;

INSERT INTO memory_event (organisation_id, memory_id, version, definition_id, at, action, status_before, status_after,
                          memory_key, actor_kind, actor_id)
SELECT organisation_id, id, 2, definition_id, decided_at, status, 'proposed', status, memory_key, 'profile', decided_by_id
FROM agent_memory WHERE version = 2;
