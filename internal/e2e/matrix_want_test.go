package e2e

// wantMatrix is what TestMatrix wants: a row for each operation and what it is done to,
// a column for each caller. "updateClient open" takes the last role away; "full" is
// something that holds or gives full access, "viewer/client" a viewer's role on
// clients.
//
// 401 comes first. Whoever may not do the operation at all is told 403. Then what is
// another organization's is 404 like what is unknown. Whoever would give or take more
// than they hold is told 403.
const wantMatrix = `
A none
B garbage
C key
D revoked
E expired
F viewer
G viewer/d1
H editor
I admin/trig
J admin/vault
K admin/d1
L admin/client
M admin/invite
N admin
O full
P rival
Q rival/admin
                                     A   B   C   D   E   F   G   H   I   J   K   L   M   N   O   P   Q
submitApiTrigger                   401 401 202 401 401 403 403 202 202 403 403 403 403 202 202 202 202
listTriggers                       401 401 200 401 401 200 403 200 200 403 403 403 403 200 200 200 200
getTrigger                         401 401 200 401 401 200 403 200 200 403 403 403 403 200 200 404 404
updateClient rename, full          401 401 401 401 401 403 403 403 403 403 403 403 403 403 200 404 404
updateClient open                  401 401 401 401 401 403 403 403 403 403 403 403 403 403 200 404 404
updateClient narrow, full          401 401 401 401 401 403 403 403 403 403 403 403 403 403 200 404 404
updateClient narrow, viewer        401 401 401 401 401 403 403 403 403 403 403 403 403 200 200 404 404
updateClient viewer/client         401 401 401 401 401 403 403 403 403 403 403 200 403 200 200 404 404
updateClient context d1            401 401 401 401 401 403 403 403 403 403 403 403 403 200 200 404 404
createClient full                  401 401 401 401 401 403 403 403 403 403 403 403 403 403 201 201 403
createClient viewer                401 401 401 401 401 403 403 403 403 403 403 403 403 201 201 201 201
createClient viewer/client         401 401 401 401 401 403 403 403 403 403 403 201 403 201 201 201 201
listClients                        401 401 401 401 401 403 403 403 403 403 403 200 403 200 200 200 200
getClient full                     401 401 401 401 401 403 403 403 403 403 403 200 403 200 200 404 404
deleteClient full                  401 401 401 401 401 403 403 403 403 403 403 403 403 403 200 404 404
deleteClient viewer                401 401 401 401 401 403 403 403 403 403 403 403 403 200 200 404 404
deleteClient viewer/client         401 401 401 401 401 403 403 403 403 403 403 200 403 200 200 404 404
rotateClientSecret full            401 401 401 401 401 403 403 403 403 403 403 403 403 403 200 404 404
rotateClientSecret viewer          401 401 401 401 401 403 403 403 403 403 403 403 403 200 200 404 404
rotateClientSecret viewer/client   401 401 401 401 401 403 403 403 403 403 403 200 403 200 200 404 404
listTokens                         401 401 401 401 401 403 403 403 403 403 403 200 403 200 200 200 200
revokeToken full                   401 401 401 401 401 403 403 403 403 403 403 403 403 403 200 404 404
revokeToken viewer                 401 401 401 401 401 403 403 403 403 403 403 403 403 200 200 404 404
revokeToken viewer/client          401 401 401 401 401 403 403 403 403 403 403 200 403 200 200 404 404
createUserInvitation full          401 401 401 401 401 403 403 403 403 403 403 403 403 403 201 201 403
createUserInvitation viewer        401 401 401 401 401 403 403 403 403 403 403 403 403 201 201 201 201
createUserInvitation viewer/invite 401 401 401 401 401 403 403 403 403 403 403 403 201 201 201 201 201
listUserInvitations                401 401 401 401 401 403 403 403 403 403 403 403 200 200 200 200 200
getUserInvitation full             401 401 401 401 401 403 403 403 403 403 403 403 200 200 200 404 404
resendUserInvitation full          401 401 401 401 401 403 403 403 403 403 403 403 403 403 200 404 404
resendUserInvitation viewer        401 401 401 401 401 403 403 403 403 403 403 403 403 200 200 404 404
resendUserInvitation viewer/invite 401 401 401 401 401 403 403 403 403 403 403 403 200 200 200 404 404
deleteUserInvitation full          401 401 401 401 401 403 403 403 403 403 403 403 200 200 200 404 404
deleteUserInvitation viewer        401 401 401 401 401 403 403 403 403 403 403 403 200 200 200 404 404
deleteUserInvitation viewer/invite 401 401 401 401 401 403 403 403 403 403 403 403 200 200 200 404 404
showInvitation                     200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200
acceptInvitation                   200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200 200
login                              401 400 400 400 400 400 400 400 400 400 400 400 400 400 400 400 400
tokenize                           401 401 401 401 401 200 403 200 403 200 403 403 403 200 200 404 404
insertRecords                      401 401 401 401 401 403 403 200 403 200 403 403 403 200 200 404 404
detokenize masked                  401 401 401 401 401 403 403 200 403 200 403 403 403 200 200 404 404
detokenize plain                   401 401 401 401 401 403 403 403 403 200 403 403 403 200 200 404 404
deleteToken                        401 401 401 401 401 403 403 403 403 200 403 403 403 200 200 404 404
searchAudioSound                   401 401 401 401 401 200 200 200 403 403 200 403 403 200 200 404 404
getSearchRunStatus                 401 401 401 401 401 200 200 200 403 403 200 403 403 200 200 404 404
getSearchRunResult                 401 401 401 401 401 200 200 200 403 403 200 403 403 200 200 404 404
cancelSearchRun                    401 401 401 401 401 403 403 200 403 403 200 403 403 200 200 404 404
`
